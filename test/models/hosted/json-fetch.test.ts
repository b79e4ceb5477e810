import { describe, expect, it } from 'vitest';
import { retryAfter } from '../../../src/models/hosted/json-fetch.js';
import { serverError } from '../../../src/models/hosted/server-error.js';

describe('retryAfter', () => {
  it.each([
    [{}, undefined],
    [{ 'retry-after': '12' }, 12_000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': ' 1.5 ' }, 1500],
    [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT', date: 'Wed, 21 Oct 2026 07:28:00 GMT' }, 30_000],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:27:00 GMT', date: 'Wed, 21 Oct 2026 07:28:00 GMT' }, 0],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT' }, undefined],
  ])('reads %o as %s ms', (headers, expected) => {
    expect(retryAfter(headers)).toBe(expected);
  });
});

describe('serverError', () => {
  it.each([
    ['{"error":{"message":"no such model","code":"model_not_found"}}', 'no such model', 'model_not_found'],
    ['{"error":{"message":"broke","type":"insufficient_quota","code":null}}', 'broke', 'insufficient_quota'],
    ['{"error":"model not found"}', 'model not found', undefined],
    ['{"message":"bad gateway"}', 'bad gateway', undefined],
    ['<html><title> 502  Bad Gateway </title>', 'an HTML page (“502 Bad Gateway”)', undefined],
    ['upstream\n  error', 'text that is no JSON: upstream error', undefined],
    ['', '', undefined],
  ])('reads %s', (body, message, code) => {
    expect(serverError(body)).toEqual({ message, ...(code !== undefined && { code }) });
  });

  it('shows no more than the start of a long body', () => {
    expect(serverError(`{"error":"${'x'.repeat(5000)}"}`).message).toHaveLength(300);
  });
});
