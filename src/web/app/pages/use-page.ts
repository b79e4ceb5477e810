import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from '../base/live.js';
import { openTarget } from '../markup/markup.js';
import type { Page } from '../markup/sections.js';

/** Minimum pause between requests for a page, in milliseconds; slow requests are followed by longer pauses. */
const leastPause = 1500;

/**
 * Loads a page, and reloads it when it is stale. Once it is shown, scrolls to the section that the address names.
 * @param parts number of other parts of the page that are shown
 */
export function usePage(address: string, parts = 0) {
  const [page, setPage] = useState<Page | undefined>(undefined);
  const [problem, setProblem] = useState('');
  const state = useRef({ address: '', asking: false, stale: false, next: 0 });
  const load = async () => {
    const now = state.current;
    if (now.asking) {
      now.stale = true;
      return;
    }
    now.asking = true;
    now.stale = false;
    const began = performance.now();
    try {
      const found = await ask<Page>(address);
      if (now.address === address) {
        setPage(found);
        setProblem('');
        now.stale ||= found.isPartial === true;
      }
    } catch (error) {
      if (now.address === address) setProblem(String((error as Error).message));
    }
    const took = performance.now() - began;
    setTimeout(
      () => {
        now.asking = false;
        if (now.stale && now.address === address) void load();
      },
      Math.max(leastPause, 4 * took),
    );
  };
  useEffect(() => {
    state.current = { address, asking: false, stale: false, next: 0 };
    setPage(undefined);
    setProblem('');
    void load();
  }, [address]);
  const isShown = page !== undefined;
  useEffect(() => {
    if (isShown && location.hash !== '') openTarget();
  }, [address, isShown, parts]);
  return { page, problem, refresh: load };
}
