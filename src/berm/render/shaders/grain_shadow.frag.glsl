precision highp float;

in vec2 disc;

void main() {
  if (dot(disc, disc) > 1.0) discard;
}
