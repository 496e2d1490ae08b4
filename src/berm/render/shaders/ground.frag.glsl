// Level ground: a grid with two line widths, fading into the backdrop far away.
#include "common.glsl"
#include "light.glsl"

in vec3 point;
in vec3 facing;
in vec3 local;

uniform vec3 bodyColour;  // sRGB
uniform vec3 lineColour;  // sRGB
uniform float gridStep;   // m between thin lines; every fifth is strong
uniform vec3 middle;      // world, m: what stands on the ground
uniform float reach;      // m from there to where the ground has gone
uniform float lift;

out vec4 shown;

float lines(vec2 at, float width) {
  vec2 far = abs(fract(at - 0.5) - 0.5);
  vec2 pixel = fwidth(at) + 1e-12;
  vec2 line = clamp(width - far / pixel + 0.5, 0.0, 1.0);
  vec2 crowd = smoothstep(0.15, 0.6, pixel);  // closer than a few pixels: a mean tone instead
  line = mix(line, vec2(0.0), crowd);
  return max(line.x, line.y);
}

void main() {
  vec2 at = point.xy / gridStep;
  float drawn = max(0.55 * lines(at, 0.6), lines(at / 5.0, 0.9));
  float away = length(point.xy - middle.xy) / reach;
  vec3 base = mix(bodyColour, lineColour, drawn * (1.0 - smoothstep(0.15, 0.7, away)));
  vec3 n = normalize(facing);
  // as bright as its colour says where the sun shines
  vec3 open = skyColour + max(dot(n, sunDirection), 0.0) * sunColour;
  vec3 lit = shade(toLinear(base), n, point, lift) / max(max(open.r, open.g), open.b);
  float fade = smoothstep(0.25, 1.0, away);
  shown = vec4(mix(toScreen(lit), backdrop(gl_FragCoord.xy), fade), 1.0);
}
