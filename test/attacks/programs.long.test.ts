import { describe, expect, it } from 'vitest';
import { hostilePrograms, openProgramAttacks } from './hostile-programs.js';

describe('hostile programs', async () => {
  const attacks = await openProgramAttacks();

  it('are many', () => {
    expect(hostilePrograms.length).toBeGreaterThan(400);
    expect(new Set(hostilePrograms.map(({ source }) => source)).size).toBe(hostilePrograms.length);
  });

  it('end in an action or one fault, and change nothing for the next program', () => {
    const wrong = hostilePrograms.flatMap((program) => {
      const started = performance.now();
      const fault = attacks.attack(program);
      const ms = performance.now() - started;
      if (ms > 3000) console.log(Math.round(ms), program.source.slice(0, 100));
      return fault === undefined ? [] : [`${fault}: ${program.source.slice(0, 200)}`];
    });
    expect(wrong).toEqual([]);
  });

  it('end alike in any order', async () => {
    const forward = await attacks.outcomes(hostilePrograms);
    const backward = await attacks.outcomes(hostilePrograms.toReversed());
    const unlike = hostilePrograms.filter((program) => forward.get(program) !== backward.get(program));
    expect(
      unlike.map((program) => [program.source.slice(0, 100), forward.get(program), backward.get(program)]),
    ).toEqual([]);
  });
});
