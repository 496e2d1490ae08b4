"""What is drawn and how: stage and moment, triangles, colours, shaders, camera, pictures, video."""
