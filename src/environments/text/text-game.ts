/** A game played by text commands: one of the worlds in this folder, or a TextWorld file. */
export interface TextGame {
  /** Restarts the game. @returns the first text: the task, and what the player sees */
  start(): string;
  /** Executes a command. An inadmissible one changes nothing. */
  step(command: string): TextTurn;
  /** The player's task, in the words of the first text; undefined if unknown. */
  readonly objective?: string | undefined;
  /** Currently possible commands, sorted and without duplicates; null if unknown. */
  readonly admissible: readonly string[] | null;
  readonly score: number;
  /** Score of a game that is won; null if unknown. */
  readonly maxScore: number | null;
  readonly won: boolean;
  readonly lost: boolean;
  /** Number of commands that were understood; null if unknown. */
  readonly moves: number | null;
  /** Commands that win from the start; undefined if unknown. */
  readonly gold: readonly string[] | undefined;
}

export interface TextTurn {
  /** Observation text. */
  readonly text: string;
  /** False for an inadmissible command. */
  readonly understood: boolean;
}
