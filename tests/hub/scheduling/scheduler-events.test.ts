import { expect, test } from 'vitest'
import type { CommitRequest } from '../../../src/hub/contract/hub'
import { toCommitEvent } from '../../../src/hub/scheduling/exploration'

const request = { agentId: 'heron', now: 7, outcome: 'completed' } as unknown as CommitRequest

test.each([
  [{ isExplorer: true, isExploration: true, hasPassed: true }, 'finished'],
  [{ isExplorer: true, isExploration: false, hasPassed: false }, 'finished'],
  // its definition was changed while it explored: the scheduler still counts it as running
  [{ isExplorer: false, isExploration: true, hasPassed: true }, 'found_nothing'],
  [{ isExplorer: false, isExploration: false, hasPassed: false }, undefined],
  [undefined, undefined],
])(
  'S3: of an exploration the scheduler gets the end, whatever the definition says by then: %j',
  (row, kind) => {
    expect(toCommitEvent(request, row)?.kind).toBe(kind)
  },
)
