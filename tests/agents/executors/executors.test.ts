import { expect, it } from 'vitest'
import { executorTypes } from '../../../src/agents/executors/executor'
import { getExecutor } from '../../../src/agents/executors/executors'

const clis = executorTypes.filter((type) => type !== 'native')

it('L46: every type of a definition has its executor', () => {
  expect(executorTypes.map((type) => getExecutor(type).type)).toEqual([...executorTypes])
})

it('L46: native is never absent', () => {
  expect(getExecutor('native').explainUnavailable('scout')).toBeNull()
})

it.each(clis)('L46: without a runner %s explains that the task was not started', (type) => {
  expect(getExecutor(type).explainUnavailable('fixer')).toMatch(
    new RegExp(`^@fixer runs on ${type}, but no runner is connected to this hub`),
  )
})
