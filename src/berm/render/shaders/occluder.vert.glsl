// A grain as something that hides others: a disc through its centre, smaller by the diagonal of a
// pixel, so that each pixel it reaches is hidden as a whole.
#include "common.glsl"

in vec2 corner;
in vec3 place;
in float size;

uniform float pixelAngle;

out vec2 disc;

void main() {
  vec3 centre = mat3(viewMatrix) * (place - cameraPosition);
  float radius = max(size - 0.75 * pixelAngle * length(centre), 0.0);
  disc = corner;
  gl_Position = projectionMatrix * vec4(centre + vec3(radius * corner, 0.0), 1.0);
}
