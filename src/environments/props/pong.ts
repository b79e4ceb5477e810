import type { RandomGenerator } from '../../random/generator.js';
import type { BoxSpace, DiscreteSpace, Observation } from '../environment.js';
import type { Frame, Point, Role, Shape } from '../frame.js';
import type { OpenStep, Task } from '../task.js';

/** Sizes in pixels. */
export const court = {
  width: 800,
  height: 600,
  paddleHeight: 80,
  paddleWidth: 10,
  ballSide: 10,
} as const;

const { fround } = Math;
const { width, height, paddleHeight, paddleWidth, ballSide } = court;
const speed = 5; // pixels a step, of the paddles and of the ball in each direction, at most
const lowestPaddle = height - paddleHeight;
const lowestBall = height - ballSide;
const ballAtRight = width - ballSide;

/**
 * Pong on a field of 800 × 600 pixels (the ProPS paper's variant), y downwards: the agent has the left paddle, a scripted
 * player that follows the ball the right one. Each hit of the agent's paddle gives 1; missing the ball ends the episode
 * and costs nothing more.
 * Observation: centre of the agent's paddle, x and y of the ball's top left corner, its velocity in x and y.
 * Action: 0 up, 1 down, 2 stay.
 */
export class Pong implements Task<number> {
  readonly observationSpace: BoxSpace = {
    kind: 'box',
    low: [paddleHeight / 2, -speed, -speed, -speed, -speed],
    high: [lowestPaddle + paddleHeight / 2, ballAtRight + speed, lowestBall + speed, speed, speed],
  };
  readonly actionSpace: DiscreteSpace = { kind: 'discrete', n: 3 };
  /** Tops of the paddles. */
  #agent = 0;
  #opponent = 0;
  #x = 0;
  #y = 0;
  #dx = 0;
  #dy = 0;
  #hits = 0;

  reset(random: RandomGenerator): Observation {
    this.#agent = lowestPaddle / 2;
    this.#opponent = lowestPaddle / 2;
    this.#x = width / 2;
    this.#y = height / 2;
    this.#dx = random.choice([-speed, speed]);
    this.#dy = random.uniform(-speed, speed);
    this.#hits = 0;
    return this.#observe();
  }

  step(action: number): OpenStep {
    if (action === 0) this.#agent = moved(this.#agent, -speed);
    if (action === 1) this.#agent = moved(this.#agent, speed);
    const behind = this.#opponent + paddleHeight / 2 < this.#y;
    this.#opponent = moved(this.#opponent, behind ? speed : -speed);

    this.#x += this.#dx;
    this.#y += this.#dy;
    if (this.#y <= 0 || this.#y >= lowestBall) this.#dy = -this.#dy;
    const hit = this.#dx < 0 && this.#x <= paddleWidth && this.#meets(this.#agent);
    const returned = this.#dx >= 0 && this.#x >= ballAtRight - paddleWidth && this.#meets(this.#opponent);
    if (hit) {
      this.#bounce(this.#agent);
      this.#hits++;
    } else if (returned) this.#bounce(this.#opponent);
    return {
      observation: this.#observe(),
      reward: hit ? 1 : 0,
      terminated: this.#x < 0 || this.#x > ballAtRight,
      truncated: false,
    };
  }

  frame(): Frame {
    return drawPong({
      agent: this.#agent,
      opponent: this.#opponent,
      ball: [this.#x, this.#y],
      hits: this.#hits,
    });
  }

  #meets(paddle: number): boolean {
    return paddle <= this.#y && this.#y <= paddle + paddleHeight;
  }

  /** The place on the paddle decides the new direction: the further from its middle, the steeper. */
  #bounce(paddle: number): void {
    this.#dx = -this.#dx;
    this.#dy = speed * (2 * ((this.#y - paddle) / paddleHeight) - 1);
  }

  #observe(): number[] {
    return [this.#agent + paddleHeight / 2, this.#x, this.#y, this.#dx, this.#dy].map(fround);
  }
}

function moved(paddle: number, by: number): number {
  return Math.min(lowestPaddle, Math.max(0, paddle + by));
}

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
