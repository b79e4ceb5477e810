import type { Frame, Point, Shape } from '../frame.js';
import { gridLines, gridView, tile, token } from '../grid-drawing.js';
import type { Cell, Maze } from './maze-layout.js';

/** The maze from above, with the goal and where the agent is. */
export function drawMaze(maze: Maze, agent: Cell): Frame {
  const { width, height, goal, start } = maze;
  return {
    view: gridView(height, width),
    shapes: [
      tile(start.y, start.x, 'guide', 0.3),
      tile(goal.y, goal.x, 'goal', 0.12),
      ...gridLines(height, width),
      ...walls(maze),
      token(agent.y, agent.x, 'agent'),
    ],
  };
}

function walls({ lines }: Maze): readonly Shape[] {
  return lines.flatMap((line, row) =>
    [...line].flatMap((mark, column): readonly Shape[] => {
      // Characters in odd columns stand for cells and the walls above and below them.
      const [x, y] = [Math.floor(column / 2), -Math.floor(row / 2)];
      if (row % 2 === 0 && column % 2 === 1 && mark !== ' ') return [wall([x, y], [x + 1, y])];
      if (row % 2 === 1 && column % 2 === 0 && mark !== ' ') return [wall([x, y], [x, y - 1])];
      return [];
    }),
  );
}

function wall(from: Point, to: Point): Shape {
  return { kind: 'line', points: [from, to], width: 0.12, role: 'ground' };
}
