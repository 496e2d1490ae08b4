// A body: triangles in its own frame.
#include "common.glsl"

in vec3 position;
in vec3 normal;
in vec3 fade;  // sRGB that a vertex lacks of the body's colour; 0 unless it is given

uniform mat4 modelMatrix;  // body to world

out vec3 point;  // world, m
out vec3 facing;
out vec3 local;  // in the body's frame, m
out vec3 less;

void main() {
  vec4 world = modelMatrix * vec4(position, 1.0);
  point = world.xyz;
  local = position;
  less = fade;
  facing = mat3(modelMatrix) * normal;
  gl_Position = projectionMatrix * viewMatrix * world;
}
