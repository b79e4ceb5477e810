/** What other processes ask of a training: to pause, to go on, to stop. */
import type { CommandContext } from '../../src/base/context.js';
import { Control } from '../../src/experiment/control/control.js';

/** A request that was heeded, after which step, for the log. */
export interface ControlledTraining {
  readonly kind: 'controlled';
  readonly step: number;
  readonly request: number;
  readonly action: 'pause' | 'resume' | 'stop' | 'set';
}

interface Steered {
  /** Asked after every step; true writes a checkpoint and ends the training. */
  stop(): boolean;
  /** Waits while the training is paused; to be called between its steps. */
  rest(): Promise<void>;
  /** Requests are about this training from here on, which has made so many steps. */
  begin(steps: () => number): void;
  close(): void;
}

/**
 * @param path directory of the training, whose lock this process holds
 * @param emit told of what was heeded
 */
export function steeredTraining(
  path: string,
  { milliseconds, note, stop }: Pick<CommandContext, 'milliseconds' | 'note' | 'stop'>,
  emit: (event: ControlledTraining) => void,
): Steered {
  const control = new Control(path, stop, milliseconds);
  return {
    stop: () => control.stop.finish.aborted,
    rest: () => control.heed(),
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
