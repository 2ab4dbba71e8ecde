import { execFileSync } from 'node:child_process'

/** Chooses for the processes of a test run what slow tests sample (`sample.ts`): by the commit, or all. */
export function chooseSample(): void {
  process.env.ROOKERY_TEST_SAMPLE ??= readCommit()
  if (process.env.npm_lifecycle_event === 'test:all') process.env.ROOKERY_TEST_ALL = '1'
}

/** Returns seven digits of the commit; a copy without git has none. */
function readCommit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short=7', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return '0'
  }
}
