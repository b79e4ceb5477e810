import type { Frame, Point, Role, Shape } from '../frame.js';
import { court } from './pong-court.js';

const { width, height, paddleHeight, paddleWidth, ballSide } = court;
const border = 8;
const dash = 20;
const side = 30;
/** The ball is drawn twice as large as it is, and the paddles go on outside the field, so that small pictures show them. */
const ballRadius = ballSide;
const paddleBehind = 12;

/** The field with its paddles and the ball, turned over, for the game counts y downwards; and the agent's hits. */
export function drawPong(game: {
  /** Tops of the paddles. */
  readonly agent: number;
  readonly opponent: number;
  /** Top left corner of the ball. */
  readonly ball: Point;
  readonly hits: number;
}): Frame {
  const [x, y] = game.ball;
  return {
    view: { min: [-side, -2 * border], max: [width + side, height + 2 * border] },
    shapes: [
      ...net,
      wall(-border / 2),
      wall(height + border / 2),
      { kind: 'text', centre: [width / 4, height - 50], height: 50, text: `${game.hits}`, role: 'guide' },
      box([-paddleBehind, game.agent], [paddleWidth + paddleBehind, paddleHeight], 'agent'),
      box([width - paddleWidth, game.opponent], [paddleWidth + paddleBehind, paddleHeight], 'opponent'),
      {
        kind: 'circle',
        centre: [x + ballSide / 2, height - y - ballSide / 2],
        radius: ballRadius,
        role: 'object',
      },
    ],
  };
}

const net: readonly Shape[] = Array.from({ length: height / (2 * dash) }, (_, i) => ({
  kind: 'line',
  points: [
    [width / 2, (2 * i + 0.5) * dash],
    [width / 2, (2 * i + 1.5) * dash],
  ],
  width: 3,
  role: 'guide',
}));

function wall(y: number): Shape {
  return {
    kind: 'line',
    points: [
      [0, y],
      [width, y],
    ],
    width: border,
    role: 'ground',
  };
}

function box([left, top]: Point, [wide, high]: Point, role: Role): Shape {
  return {
    kind: 'rectangle',
    min: [left, height - top - high],
    max: [left + wide, height - top],
    role,
  };
}
