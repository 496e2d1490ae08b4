// A body as the sun sees it.
precision highp float;

in vec3 position;

uniform mat4 modelMatrix;
uniform mat4 shadowView;

void main() {
  gl_Position = shadowView * modelMatrix * vec4(position, 1.0);
}
