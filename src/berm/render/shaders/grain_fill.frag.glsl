// A grain, drawn without light: colour and normal of the nearest one are kept, and lit later
// (pictures; in a heap of 20,000 most of what is drawn is hidden by what comes after).
#include "common.glsl"
#include "sphere.glsl"

layout(location = 0) out vec4 keptColour;
layout(location = 1) out vec4 keptNormal;

void main() {
  if (dot(disc, disc) > 1.0) discard;
  vec3 normal = sphereNormal();
  gl_FragDepth = depthOf(centre + radius * normal);
  keptColour = vec4(colour, 1.0);
  keptNormal = vec4(normal, 1.0);
}
