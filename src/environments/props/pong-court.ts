/** Sizes in pixels. */
export const court = {
  width: 800,
  height: 600,
  paddleHeight: 80,
  paddleWidth: 10,
  ballSide: 10,
} as const;
