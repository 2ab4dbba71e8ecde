import { beforeEach } from 'vitest'
import { describeFailure } from './start-for-browser.ts'

// A failed test in CI leaves nothing else behind.
beforeEach(({ onTestFailed }) => {
  onTestFailed(async ({ task }) => {
    console.error(`${task.name}\n${await describeFailure()}`)
  })
})
