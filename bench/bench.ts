/** `npm run bench`: benchmarks this machine. Compare only ratios within one run. */
import process from 'node:process';
import { number, terminalTable, text } from '../src/base/text/table.js';
import { benchIterations } from './iterations.js';
import { benchMujoco } from './mujoco.js';
import { benchPrograms } from './programs.js';
import { benchRollouts } from './rollouts.js';
import { benchStartUp } from './start-up.js';

const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const findings = [
  ...(await benchRollouts(python)),
  ...(await benchPrograms(python)),
  ...(await benchMujoco(python)),
  ...(await benchIterations()),
  ...benchStartUp(),
];
process.stdout.write(
  `${terminalTable(findings, [
    text('what', ({ name }) => name),
    number('figure', ({ value }) => value),
    text('', ({ note }) => note ?? ''),
  ])}\n`,
);
