// A grain as the sun sees it: a disc through its centre, so that its lit side is in front of its
// own shadow and no bias is needed.
precision highp float;

in vec2 corner;
in vec3 place;
in float size;

uniform vec3 origin;
uniform vec3 extent;
uniform vec2 radiusRange;
uniform mat4 shadowView;  // world to the sun's clip space
uniform vec3 sunRight;    // unit, at right angles to the sun
uniform vec3 sunAbove;

out vec2 disc;

void main() {
  float radius = radiusRange.x + radiusRange.y * size;
  disc = corner;
  vec3 point = origin + extent * place + radius * (corner.x * sunRight + corner.y * sunAbove);
  gl_Position = shadowView * vec4(point, 1.0);
}
