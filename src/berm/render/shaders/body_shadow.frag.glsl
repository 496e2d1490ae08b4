precision highp float;

void main() {}
