import type { Observation, Task, TaskStep, TupleSpace } from '../environment.js';
import { type Frame, line, type Shape } from '../frame.js';
import { gridLines, gridView, tile, token } from '../grid.js';
import { type Cell, directions, isOpen, type Maze } from './maze-layout.js';

/**
 * A deterministic walk through a maze (gym-maze's rules). Observation: x from the left and y from the top.
 * Action: 0 north, 1 south, 2 east, 3 west; a wall leaves the agent where it is. Reward: 1 for reaching the
 * goal, otherwise −0.1 divided by the number of cells.
 */
export class MazeWalk implements Task<number> {
  readonly observationSpace: TupleSpace;
  readonly actionSpace = { kind: 'discrete', n: directions.length } as const;
  readonly #maze: Maze;
  readonly #stepReward: number;
  #cell: Cell;

  constructor(maze: Maze) {
    const { width, height, start } = maze;
    this.#maze = maze;
    this.#cell = start;
    this.#stepReward = -0.1 / (width * height);
    this.observationSpace = {
      kind: 'tuple',
      spaces: [width, height].map((n) => ({ kind: 'discrete', n })),
    };
  }

  reset(): Observation {
    this.#cell = this.#maze.start;
    return [this.#cell.x, this.#cell.y];
  }

  step(action: number): TaskStep {
    if (isOpen(this.#maze, this.#cell, action)) {
      const { x, y } = directions[action]!;
      this.#cell = { x: this.#cell.x + x, y: this.#cell.y + y };
    }
    const { x, y } = this.#cell;
    const terminated = x === this.#maze.goal.x && y === this.#maze.goal.y;
    return { observation: [x, y], reward: terminated ? 1 : this.#stepReward, terminated };
  }

  frame(): Frame {
    const { width, height, goal, start } = this.#maze;
    return {
      view: gridView(height, width),
      shapes: [
        tile(start.y, start.x, 'guide', 0.3),
        tile(goal.y, goal.x, 'goal', 0.12),
        ...gridLines(height, width),
        ...wallsOf(this.#maze),
        token(this.#cell.y, this.#cell.x, 'agent'),
      ],
    };
  }
}

function wallsOf({ lines }: Maze): readonly Shape[] {
  return lines.flatMap((marks, row) =>
    [...marks].flatMap((mark, column): readonly Shape[] => {
      // Odd columns hold cells and the walls above and below them.
      const [x, y] = [Math.floor(column / 2), -Math.floor(row / 2)];
      if (mark === ' ' || row % 2 === column % 2) return [];
      return [line([x, y], row % 2 === 0 ? [x + 1, y] : [x, y - 1], 0.12, 'ground')];
    }),
  );
}
