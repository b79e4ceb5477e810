/** Sokoban: the player must push all boxes onto goals. */
import { z } from 'zod';
import { type RandomGenerator, shuffled } from '../../../random/generator.js';
import { drawIn, folds, type TextGame, type TextTurn } from '../text-game.js';

export const sokobanOptions = z.strictObject({
  width: z.int().min(5).max(10).default(6).describe('Columns, walls included'),
  height: z.int().min(5).max(10).default(6).describe('Rows, walls included'),
  boxes: z.int().min(1).max(4).default(1).describe('Number of boxes and goals'),
  fold: z
    .enum(folds)
    .default('train')
    .describe('Set of games to draw from; no two sets share a starting position'),
});

type SokobanOptions = z.output<typeof sokobanOptions>;

const moves = { down: [0, 1], left: [-1, 0], right: [1, 0], up: [0, -1] } as const;
type Move = keyof typeof moves;
const moveNames = Object.keys(moves) as Move[];

interface Board {
  readonly width: number;
  /** True for each cell that is a wall, row by row. */
  readonly walls: readonly boolean[];
  readonly goals: ReadonlySet<number>;
}

interface Position {
  readonly player: number;
  /** Cells of the boxes, ascending. */
  readonly boxes: readonly number[];
}

interface Puzzle {
  readonly board: Board;
  readonly start: Position;
  /** A shortest solution. */
  readonly solution: readonly Move[];
}

export function sokobanGame(options: SokobanOptions, random: RandomGenerator): TextGame {
  const { board, start, solution } = drawIn(
    options.fold,
    () => drawPuzzle(options, random),
    (puzzle) => picture(puzzle.board, puzzle.start),
  );
  return new Sokoban(board, start, solution);
}

class Sokoban implements TextGame {
  readonly maxScore = 1;
  readonly objective =
    'Push every box ($) onto a goal (.). You are @, # is a wall, * a box on a goal, + you on a goal. Say up, down, left or right.';
  readonly gold: readonly string[];
  moves = 0;
  readonly #board: Board;
  readonly #start: Position;
  #position: Position;

  constructor(board: Board, start: Position, gold: readonly string[]) {
    this.#board = board;
    this.#start = start;
    this.#position = start;
    this.gold = gold;
  }

  get admissible(): readonly string[] {
    return moveNames.filter((move) => moved(this.#board, this.#position, move) !== undefined);
  }
  /** Share of the boxes on goals. */
  get score(): number {
    const { boxes } = this.#position;
    return boxes.filter((box) => this.#board.goals.has(box)).length / boxes.length;
  }
  get won(): boolean {
    return this.score === 1;
  }
  /** A box in a corner without a goal can never be moved again. */
  get lost(): boolean {
    return this.#position.boxes.some((box) => !this.#board.goals.has(box) && isCorner(this.#board, box));
  }

  start(): string {
    this.#position = this.#start;
    this.moves = 0;
    return `${this.objective}\n${picture(this.#board, this.#position)}`;
  }

  step(command: string): TextTurn {
    const move = moveNames.find((name) => name === command);
    const next = move && moved(this.#board, this.#position, move);
    if (next === undefined)
      return {
        text: move === undefined ? 'Say up, down, left or right.' : 'Something is in the way.',
        understood: false,
      };
    this.moves++;
    this.#position = next;
    const ending = this.won ? '\nYou have won.' : this.lost ? '\nA box is stuck. You have lost.' : '';
    return { text: picture(this.#board, next) + ending, understood: true };
  }
}

/** @returns undefined if a wall or a second box is in the way */
function moved({ width, walls }: Board, { player, boxes }: Position, move: Move): Position | undefined {
  const [dx, dy] = moves[move];
  const step = dx + dy * width;
  const to = player + step;
  if (walls[to]) return undefined;
  if (!boxes.includes(to)) return { player: to, boxes };
  const beyond = to + step;
  if (walls[beyond] || boxes.includes(beyond)) return undefined;
  return { player: to, boxes: boxes.map((box) => (box === to ? beyond : box)).toSorted((a, b) => a - b) };
}

function isCorner({ width, walls }: Board, cell: number): boolean {
  const sideways = walls[cell - 1] || walls[cell + 1];
  return (sideways && (walls[cell - width] || walls[cell + width])) ?? false;
}

function picture({ width, walls, goals }: Board, { player, boxes }: Position): string {
  const signs = walls.map((wall, cell) => {
    if (wall) return '#';
    const goal = goals.has(cell);
    if (cell === player) return goal ? '+' : '@';
    if (boxes.includes(cell)) return goal ? '*' : '$';
    return goal ? '.' : ' ';
  });
  return Array.from({ length: walls.length / width }, (_, row) =>
    signs.slice(row * width, (row + 1) * width).join(''),
  ).join('\n');
}

/** Draws boards until one isn't solved at the start and the search finds a solution. */
function drawPuzzle(options: SokobanOptions, random: RandomGenerator): Puzzle {
  for (;;) {
    const { board, start } = drawBoard(options, random);
    const solution = solve(board, start);
    if (solution !== undefined && solution.length > 0) return { board, start, solution };
  }
}

/** Probability that an inner cell is a wall. */
const wallShare = 0.12;

function drawBoard({ width, height, boxes }: SokobanOptions, random: RandomGenerator) {
  const walls = Array.from({ length: width * height }, (_, cell) => {
    const [x, y] = [cell % width, Math.floor(cell / width)];
    const isBorder = x === 0 || y === 0 || x === width - 1 || y === height - 1;
    return isBorder || random.random() < wallShare;
  });
  const free = shuffled(walls.keys(), random).filter((cell) => !walls[cell]);
  const placed = free.slice(0, boxes).toSorted((a, b) => a - b);
  return {
    board: { width, walls, goals: new Set(free.slice(boxes, 2 * boxes)) },
    start: { player: free[2 * boxes] ?? 0, boxes: placed },
  };
}

/** Number of positions after which the search gives up. */
const mostPositions = 50_000;

/** Breadth-first search, so the solution is a shortest one. @returns undefined if none was found */
function solve(board: Board, start: Position): readonly Move[] | undefined {
  const keyOf = ({ player, boxes }: Position) => `${player}:${boxes.join()}`;
  const isSolved = ({ boxes }: Position) => boxes.every((box) => board.goals.has(box));
  if (board.walls[start.player] || start.boxes.length !== board.goals.size) return undefined;
  const seen = new Set([keyOf(start)]);
  const queue: { readonly position: Position; readonly from: number; readonly move: Move | undefined }[] = [
    { position: start, from: -1, move: undefined },
  ];
  for (let next = 0; next < queue.length && queue.length < mostPositions; next++) {
    const { position } = queue[next]!;
    if (isSolved(position)) return wayTo(queue, next);
    if (position.boxes.some((box) => !board.goals.has(box) && isCorner(board, box))) continue;
    for (const move of moveNames) {
      const after = moved(board, position, move);
      if (after === undefined || seen.has(keyOf(after))) continue;
      seen.add(keyOf(after));
      queue.push({ position: after, from: next, move });
    }
  }
  return undefined;
}

function wayTo(
  queue: readonly { readonly from: number; readonly move: Move | undefined }[],
  end: number,
): readonly Move[] {
  const way: Move[] = [];
  for (let at = end; queue[at]!.move !== undefined; at = queue[at]!.from) way.unshift(queue[at]!.move!);
  return way;
}
