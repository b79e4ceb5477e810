import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { execute } from '../../../src/commands/audit.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';

/** One step; action 0 gives 1, action 1 gives 2. */
const steps = `export default { name: 'steps', create: () => ({
  observationSpace: { kind: 'box', low: [1], high: [1] },
  actionSpace: { kind: 'discrete', n: 2 },
  reset: () => [1],
  step: (action) => ({ observation: [1], reward: 1 + action, terminated: true, truncated: false }),
}) };
`;

const defaults = { runsDir: 'buffers', episodes: 100, seed: 0, searches: 0, json: true, quiet: true };

async function audited(record: string, options: object = {}, file = 'record.csv') {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'steps.mjs'), steps);
  writeFileSync(join(cwd, file), record);
  const recording = recordingContext(cwd);
  const policy = '{kind: linear, bias: false}';
  const args = { ...defaults, sources: [file], environment: './steps.mjs', policy, ...options };
  expect(await execute(args, recording.context)).toBe(0);
  return { cwd, printed: recording.printed.join('\n') };
}

// By hand: weights [a, b] choose action 1 if b > a, so 0 0, 1 0 and 2 0 act alike, and so do 0 1 and 0 2.
const record = `episode,parameters,returns
w0,"","0*6"
0,"1 0","1*4"
1,"2 0","1 1 2 2"
2,"0 1","2*4"
3,"0 2","3*4"
`;

describe('an audit', () => {
  it('gives recorded and true curves, behaviours and verdicts as computed by hand', async () => {
    const { printed } = await audited(record);
    expect(JSON.parse(printed)).toMatchObject({
      evaluations: 4,
      unknown: 1,
      policies: 4,
      behaviours: 2,
      recorded: { best: 3, at: 'episode 3' },
      fresh: { best: 2, bestAt: 'episode 2', ofRecordedBest: 2, ofRecordedBestInterval: [2, 2] },
      optimism: 1,
      improvements: {
        recorded: 4,
        confirmed: 2,
        list: [
          { at: 'episode 0', before: null, difference: 1, verdict: 'higher' },
          { at: 'episode 1', before: 'episode 0', difference: 0, verdict: 'no-evidence' },
          { at: 'episode 2', before: 'episode 0', difference: 1, verdict: 'higher' },
          { at: 'episode 3', before: 'episode 2', difference: 0, verdict: 'no-evidence' },
        ],
      },
      // Returns of 2 that the policy can't have, and of 3 that none has.
      reproduced: { tested: 4, not: [{ at: 'episode 1' }, { at: 'episode 3' }] },
      curves: { recorded: [1, 1.5, 2, 3], fresh: [1, 1, 2, 2], best: [1, 1, 2, 2] },
    });
  });

  it('reads JSON Lines and means without episodes', async () => {
    const lines = [
      { iteration: 1, parameters: [1, 0], return: 1 },
      { iteration: 2, parameters: [0, 1], return: 2 },
    ];
    const { printed } = await audited(
      lines.map((line) => JSON.stringify(line)).join('\n'),
      {},
      'record.jsonl',
    );
    expect(JSON.parse(printed)).toMatchObject({
      improvements: { recorded: 1, confirmed: 1, list: [{ at: 'iteration 2', before: 'iteration 1' }] },
      reproduced: { tested: 0, not: [] },
    });
  });

  it('compares with searches that have as many evaluations', async () => {
    const { printed } = await audited(record, { searches: 3 });
    expect(JSON.parse(printed).searches).toEqual([
      { search: 'random', evaluations: 4, returns: [2, 2, 2] },
      { search: 'gp', evaluations: 4, returns: [2, 2, 2] },
    ]);
  });

  it('prints tables and writes a page', async () => {
    const { cwd, printed } = await audited(record, { json: false, html: 'audit.html' });
    expect(printed).toContain('Of 4 new bests');
    expect(printed).toContain('1 evaluation without parameters');
    expect(existsSync(join(cwd, 'audit.html'))).toBe(true);
  });
});

describe('an audit of bad input names the line, and leaves nothing behind', () => {
  it.each([
    [
      'a vector of the wrong length',
      record.replace('2 0', '2 0 0'),
      {},
      /record\.csv:4: parameters.*3 parameters.*has 2.*2 0 0.*--policy/s,
    ],
    ['a missing column', 'parameters,score\n"1 0",1\n', {}, /record\.csv:1.*returns.*parameters, score/s],
    ['a return that is no number', record.replace('3*4', '3 x'), {}, /record\.csv:6.*returns.*numbers.*"x"/s],
    ['an unknown environment', record, { environment: 'CartPol-v1' }, /--environment.*CartPole-v1/s],
    ['no environment', record, { environment: undefined }, /--environment.*needs the environment/s],
    ['an unknown policy', record, { policy: 'linea' }, /--policy\.kind.*linear/s],
    ['a torn row', `${record}4,"0 1"\n`, {}, /record\.csv:7/],
  ])('%s', async (_what, text, options, message) => {
    const html = 'audit.html';
    await expect(audited(text, { ...options, html })).rejects.toThrow(message);
  });
});
