import type { ActionContext } from '../action-context'
import type { SweepApi } from '../contract/hub'
import { assignScheduledTasks } from '../exploration/sweep'
import { sweep } from './sweep'

/** Creates the hub's API for the scheduler. */
export const createSweepApi = (open: () => ActionContext): SweepApi => ({
  sweep: (now, question) => sweep(open(), now, question),
  createScheduledTasks: (due, now) => assignScheduledTasks(open(), due, now),
})
