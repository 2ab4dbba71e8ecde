import { expect, test } from 'vitest'
import { findSandboxProblem as findHere } from '../../../runner/run/prove-sandbox.ts'
import { findSandboxProblem, unprivileged } from '../../support/start-runner-process.ts'

test.skipIf(!unprivileged || findSandboxProblem() !== null)(
  'X10: as root the sandbox says that it does not hold, and what was reached',
  async () => {
    const problem = await findHere()
    expect(problem).toContain('change settings of the kernel (/proc/sys/')
    expect(problem).toContain('Start the runner as a user other than root')
  },
)

test.skipIf(process.env.CI !== 'true')('X10: where all is checked, the sandbox holds', () => {
  expect(findSandboxProblem()).toBeNull()
})
