// A body: matt, or as glass that shows its edges.
#include "common.glsl"
#include "light.glsl"

in vec3 point;
in vec3 facing;
in vec3 local;
in vec3 less;

uniform vec3 bodyColour;  // sRGB
uniform float glass;      // 1: see through
uniform float lift;       // m, off the surface for the shadow test

out vec4 shown;

void main() {
  vec3 toEye = normalize(cameraPosition - point);
  vec3 n = normalize(facing);
  float front = dot(n, toEye);
  if (front < 0.0) n = -n;  // the back of a sheet
  vec3 lit = shade(toLinear(bodyColour - less), n, point, lift);
  float rim = pow(1.0 - abs(front), 3.0);
  shown = vec4(toScreen(lit), mix(1.0, 0.06 + 0.30 * rim, glass));
}
