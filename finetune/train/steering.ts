/** Lets other processes pause, resume and stop a training run. */
import type { CommandContext } from '../../src/base/context.js';
import { RunCommands } from '../../src/experiment/run-commands.js';

/** A request that took effect, with the step it followed; for the log. */
export interface ControlledTraining {
  readonly kind: 'controlled';
  readonly step: number;
  readonly request: number;
  readonly action: 'pause' | 'resume' | 'stop' | 'set';
}

interface Steered {
  /** Checked after every step; if true, the run writes a checkpoint and ends. */
  stop(): boolean;
  /** Waits while the run is paused. Call it between steps. */
  rest(): Promise<void>;
  /**
   * Starts accepting requests.
   * @param steps returns the number of completed steps
   */
  begin(steps: () => number): void;
  close(): void;
}

/**
 * @param path directory of the training run; this process must hold its lock
 * @param emit called for each request that takes effect
 */
export function steeredTraining(
  path: string,
  { milliseconds, note, stop }: Pick<CommandContext, 'milliseconds' | 'note' | 'stop'>,
  emit: (event: ControlledTraining) => void,
): Steered {
  const control = new RunCommands(path, stop, milliseconds);
  return {
    stop: () => control.stop.finish.aborted,
    rest: () => control.poll(),
    begin(steps) {
      control.begin({
        get completed() {
          return steps();
        },
        commit: async () => undefined,
        emit(event) {
          if (event.kind === 'warning') note(`warning: ${event.message}`);
          if (event.kind !== 'controlled') return;
          const { action, iteration, request } = event;
          emit({ kind: 'controlled', step: iteration, request, action });
        },
      });
    },
    close: () => control.close(),
  };
}
