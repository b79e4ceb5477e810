import type { RandomGenerator } from '../../base/random/generator.js';
import type { BoxSpace, DiscreteSpace, Observation, Task, TaskStep } from '../environment.js';
import { circle, type Frame, line, type Point, type Role, rectangle, type Shape, text } from '../frame.js';

// In pixels.
const [width, height] = [800, 600];
const [paddleWidth, paddleHeight] = [10, 80];
const ballSide = 10;
const speed = 5; // pixels per step: speed of the paddles, and maximum speed of the ball in each direction
const maxPaddleY = height - paddleHeight;
const maxBallY = height - ballSide;
const maxBallX = width - ballSide;

/**
 * Pong on a field of 800 × 600 pixels (the ProPS paper's variant), with y pointing down. The agent controls
 * the left paddle; a script makes the right one follow the ball. Each hit with the agent's paddle earns 1;
 * the episode ends once either side misses the ball. Observation: y of the centre of the agent's paddle, x and y of
 * the ball's top left corner, its velocity in x and y. Action: 0 up, 1 down, 2 stay.
 */
export class Pong implements Task<number> {
  readonly observationSpace: BoxSpace = {
    kind: 'box',
    low: [paddleHeight / 2, -speed, -speed, -speed, -speed],
    high: [maxPaddleY + paddleHeight / 2, maxBallX + speed, maxBallY + speed, speed, speed],
  };
  readonly actionSpace: DiscreteSpace = { kind: 'discrete', n: 3 };
  /** Top edges of the paddles. */
  #agentTop = 0;
  #opponentTop = 0;
  #x = 0;
  #y = 0;
  #dx = 0;
  #dy = 0;
  #hits = 0;

  reset(random: RandomGenerator): Observation {
    this.#agentTop = maxPaddleY / 2;
    this.#opponentTop = maxPaddleY / 2;
    this.#x = width / 2;
    this.#y = height / 2;
    this.#dx = random.choice([-speed, speed]);
    this.#dy = random.uniform(-speed, speed);
    this.#hits = 0;
    return this.#observe();
  }

  step(action: number): TaskStep {
    if (action === 0) this.#agentTop = movePaddle(this.#agentTop, -speed);
    if (action === 1) this.#agentTop = movePaddle(this.#agentTop, speed);
    const isBallBelow = this.#opponentTop + paddleHeight / 2 < this.#y;
    this.#opponentTop = movePaddle(this.#opponentTop, isBallBelow ? speed : -speed);

    this.#x += this.#dx;
    this.#y += this.#dy;
    if (this.#y <= 0 || this.#y >= maxBallY) this.#dy = -this.#dy;
    const agentHit = this.#dx < 0 && this.#x <= paddleWidth && this.#meets(this.#agentTop);
    const opponentHit = this.#dx >= 0 && this.#x >= maxBallX - paddleWidth && this.#meets(this.#opponentTop);
    if (agentHit) {
      this.#bounce(this.#agentTop);
      this.#hits++;
    } else if (opponentHit) this.#bounce(this.#opponentTop);
    const terminated = this.#x < 0 || this.#x > maxBallX;
    return { observation: this.#observe(), reward: agentHit ? 1 : 0, terminated };
  }

  frame(): Frame {
    const paddleSize: Point = [paddleWidth + paddleBehind, paddleHeight];
    return {
      view: { min: [-sideMargin, -2 * border], max: [width + sideMargin, height + 2 * border] },
      shapes: [
        ...net,
        line([0, -border / 2], [width, -border / 2], border, 'ground'),
        line([0, height + border / 2], [width, height + border / 2], border, 'ground'),
        text(`${this.#hits}`, [width / 4, height - 50], 50, 'guide'),
        box([-paddleBehind, this.#agentTop], paddleSize, 'agent'),
        box([width - paddleWidth, this.#opponentTop], paddleSize, 'opponent'),
        circle([this.#x + ballSide / 2, height - this.#y - ballSide / 2], ballRadius, 'object'),
      ],
    };
  }

  #meets(paddleTop: number): boolean {
    return paddleTop <= this.#y && this.#y <= paddleTop + paddleHeight;
  }

  /** Reflects the ball: the further from the paddle's centre it hits, the steeper its new direction. */
  #bounce(paddleTop: number): void {
    this.#dx = -this.#dx;
    this.#dy = speed * (2 * ((this.#y - paddleTop) / paddleHeight) - 1);
  }

  #observe(): number[] {
    return [this.#agentTop + paddleHeight / 2, this.#x, this.#y, this.#dx, this.#dy].map(Math.fround);
  }
}

function movePaddle(paddleTop: number, by: number): number {
  return Math.min(maxPaddleY, Math.max(0, paddleTop + by));
}

const border = 8;
const dashLength = 20;
const sideMargin = 30;
/** The ball is drawn at twice its size, and the paddles extend beyond the field, so that small pictures show both. */
const ballRadius = ballSide;
const paddleBehind = 12;

const net = Array.from({ length: height / (2 * dashLength) }, (_, i) =>
  line([width / 2, (2 * i + 0.5) * dashLength], [width / 2, (2 * i + 1.5) * dashLength], 3, 'guide'),
);

/** Converts a rectangle from the game's coordinates, where y points down. */
function box([left, top]: Point, [boxWidth, boxHeight]: Point, role: Role): Shape {
  return rectangle([left, height - top - boxHeight], [left + boxWidth, height - top], role);
}
