"""What scenes are made with: parameters that they share, what they observe, glass and blocks."""
