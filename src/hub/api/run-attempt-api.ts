import { batch, run } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import { beginRunAttempt, endRunAttempt, selectRunning } from '../activations/running-queries'
import type { RunAttemptApi } from '../contract/hub'
import { selectRunnerKeyById } from '../runners/queries'

/**
 * Creates the hub's API for the runners' object.
 *
 * @param open creates the context of one call
 */
export const createRunAttemptApi = (open: () => ActionContext): RunAttemptApi => ({
  beginAttempt: (activationId, attempt) => run(open().db, beginRunAttempt(activationId, attempt)),
  endAttempt: (activationId, attempt) => run(open().db, endRunAttempt(activationId, attempt)),
  readAttempt: async (activationId, runnerKeyId) => {
    const { db, clock } = open()
    const now = clock.now()
    const { activation, key } = await batch(db, {
      activation: selectRunning(activationId, now),
      key: selectRunnerKeyById(runnerKeyId, now),
    })
    return { activation: activation ?? null, isKeyValid: key !== undefined }
  },
})
