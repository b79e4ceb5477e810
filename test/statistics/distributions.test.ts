import { expect, it } from 'vitest';
import { normalTail, proportionInterval95, studentQuantile975 } from '../../src/statistics/distributions.js';

it('studentQuantile975 agrees with scipy.stats.t.ppf, even for fractional degrees of freedom', () => {
  const known = {
    ...{ 1: 12.706204736432095, 1.5: 6.01666310443, 2.7: 3.39214838317, 17.42: 2.10594728328 },
    ...{ 19: 2.093024054408263, 40: 2.0210753903062737, 99: 1.9842169515086827 },
  };
  for (const [degrees, quantile] of Object.entries(known))
    expect(studentQuantile975(Number(degrees))).toBeCloseTo(quantile, 9);
  expect(studentQuantile975(5000)).toBeCloseTo(1.96043865, 6);
});

it('normalTail agrees with scipy.stats.norm.sf', () => {
  expect(normalTail(0)).toBeCloseTo(0.5, 6);
  expect(normalTail(1.959963984540054)).toBeCloseTo(0.025, 6);
  expect(normalTail(-1)).toBeCloseTo(0.8413447460685429, 6);
  expect(normalTail(4)).toBeCloseTo(3.167124183311986e-5, 7);
});

it('proportionInterval95 agrees with the exact interval of scipy.stats.binomtest, and widens for ties', () => {
  const interval = (successes: number, trials: number) =>
    proportionInterval95(successes, trials).map((end) => Number(end.toFixed(5)));
  expect(interval(7, 10)).toEqual([0.34755, 0.93326]);
  expect(interval(0, 10)).toEqual([0, 0.3085]);
  expect(interval(5, 5)).toEqual([0.47818, 1]);
  expect(interval(300, 500)).toEqual([0.55557, 0.64324]);
  expect(proportionInterval95(0, 0)).toEqual([0, 1]);
  // A tie belongs to neither side: the interval spans both readings.
  expect(proportionInterval95(7.5, 10)).toEqual([
    proportionInterval95(7, 10)[0],
    proportionInterval95(8, 10)[1],
  ]);
});
