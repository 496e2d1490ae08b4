"""Machines, rocks and other bodies by the regularised stepper of [Lacoursiere10]."""
