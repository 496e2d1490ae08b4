// What every stage shares. GLSL ES 3.00 and GLSL 3.30 both read this; whoever compiles it puts the
// version line in front and a file in the place of each line that includes one.
precision highp float;
precision highp int;

uniform mat4 viewMatrix;        // world to eye
uniform mat4 projectionMatrix;  // eye to clip, perspective
uniform vec3 cameraPosition;    // m
