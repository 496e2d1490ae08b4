// A grain, drawn and lit at once (the page).
#include "common.glsl"
#include "light.glsl"
#include "sphere.glsl"

uniform float softEdge;  // 1: alpha is the share of the pixel that is covered; 0: all or nothing
uniform float lift;      // m, off the surface for the shadow test

out vec4 shown;

void main() {
  float reach = length(disc);
  float edge = softEdge > 0.0 ? clamp((1.0 - reach) / fwidth(reach) + 0.5, 0.0, 1.0)
                              : step(reach, 1.0);
  if (edge <= 0.0) discard;
  vec3 normal = sphereNormal();
  vec3 hit = centre + radius * normal;
  gl_FragDepth = depthOf(hit);
  shown = vec4(toScreen(shade(albedo, normal, hit + cameraPosition, lift)), edge);
}
