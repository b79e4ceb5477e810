/** Closing the terminal has the same effect as SIGTERM in `interrupts.slow.test.ts`. */
import { heldRuns } from '../../support/held-runs.js';
import { config, describeSignal } from './ended-by-signal.js';

describeSignal('SIGHUP', await heldRuns(config));
