// Light for the grains that grain_fill kept.
#include "common.glsl"
#include "light.glsl"

uniform sampler2D colourMap;
uniform sampler2D normalMap;
uniform sampler2D depthMap;
uniform mat4 pixelToWorld;  // clip space to world
uniform float lift;

out vec4 shown;

void main() {
  ivec2 pixel = ivec2(gl_FragCoord.xy);
  vec4 colour = texelFetch(colourMap, pixel, 0);
  if (colour.a == 0.0) discard;
  vec3 normal = normalize(texelFetch(normalMap, pixel, 0).xyz);
  gl_FragDepth = texelFetch(depthMap, pixel, 0).r;  // where nothing else has drawn yet (the page)
  vec3 clip = vec3(gl_FragCoord.xy / viewport, gl_FragDepth);
  vec4 point = pixelToWorld * vec4(2.0 * clip - 1.0, 1.0);
  shown = vec4(toScreen(shade(toLinear(colour.rgb), normal, point.xyz / point.w, lift)), 1.0);
}
