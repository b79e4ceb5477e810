/** `npm run bench`: figures of this machine, now. Ratios within one run are what counts. */
import process from 'node:process';
import { terminalTable } from '../src/format/table.js';
import { benchIterations } from './iterations.js';
import { benchMujoco } from './mujoco.js';
import { benchRollouts } from './rollouts.js';
import { benchStartUp } from './start-up.js';
import { benchWorkers } from './workers.js';

const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const findings = [
  ...(await benchRollouts(python)),
  ...(await benchMujoco(python)),
  ...(await benchWorkers()),
  ...(await benchIterations()),
  ...benchStartUp(),
];
process.stdout.write(
  `${terminalTable(
    [
      { title: 'what', cell: ({ name }) => name },
      { title: 'figure', kind: 'number', cell: ({ value }) => value },
      { title: '', cell: ({ note }) => note ?? '' },
    ],
    findings,
  )}\n`,
);
