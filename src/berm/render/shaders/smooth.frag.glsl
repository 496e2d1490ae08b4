// Softens stairs: where brightness jumps across a pixel, it is blended with its neighbour over the
// edge, by how far along the edge the next step of the stair is.
precision highp float;

uniform sampler2D picture;
uniform vec2 viewport;

out vec4 shown;

const int SEARCH = 6;  // pixels to each side

vec3 look(ivec2 at) {
  return texelFetch(picture, clamp(at, ivec2(0), ivec2(viewport) - 1), 0).rgb;
}

float bright(vec3 c) {
  return dot(c, vec3(0.30, 0.59, 0.11));
}

void main() {
  ivec2 at = ivec2(gl_FragCoord.xy);
  vec3 here = look(at);
  float m = bright(here);
  float n = bright(look(at + ivec2(0, 1)));
  float s = bright(look(at - ivec2(0, 1)));
  float e = bright(look(at + ivec2(1, 0)));
  float w = bright(look(at - ivec2(1, 0)));
  float low = min(m, min(min(n, s), min(e, w)));
  float high = max(m, max(max(n, s), max(e, w)));
  if (high - low < max(0.035, 0.10 * high)) discard;  // most pixels: they stay as they are
  float tall = abs(n - m) + abs(s - m);
  float wide = abs(e - m) + abs(w - m);
  bool level = tall >= wide;  // the edge runs from left to right
  ivec2 across = level ? ivec2(0, 1) : ivec2(1, 0);
  ivec2 along = level ? ivec2(1, 0) : ivec2(0, 1);
  float up = level ? n : e;
  float down = level ? s : w;
  bool above = abs(up - m) >= abs(down - m);
  if (!above) across = -across;
  float other = above ? up : down;
  float middle = 0.5 * (m + other);
  float slope = abs(other - m);
  float ends[2];
  float sums[2];
  for (int side = 0; side < 2; side++) {
    ivec2 go = side == 0 ? -along : along;
    ends[side] = float(SEARCH);
    sums[side] = 0.0;
    for (int k = 1; k <= SEARCH; k++) {
      float pair = 0.5 * (bright(look(at + k * go)) + bright(look(at + k * go + across)));
      sums[side] = pair - middle;
      if (abs(sums[side]) > 0.25 * slope) {
        ends[side] = float(k);
        break;
      }
    }
  }
  int near = ends[0] < ends[1] ? 0 : 1;
  // only the side of the step that this pixel belongs to is cut
  bool cut = (sums[near] < 0.0) != (m < middle) && abs(sums[near]) > 0.25 * slope;
  float share = cut ? 0.5 - ends[near] / (ends[0] + ends[1]) : 0.0;
  // single bright or dark pixels have no edge to follow
  float mean = (2.0 * (n + s + e + w)) / 8.0;
  float lonely = clamp(abs(mean - m) / (high - low), 0.0, 1.0);
  share = max(share, 0.5 * lonely * lonely * lonely);
  shown = vec4(mix(here, look(at + across), share), 1.0);
}
