import { notFound } from '../../shared/errors'

/** Errors of tasks, as users read them. */
export const taskErrors = {
  agentNotFound: () => notFound('agent', 'Only agents that run on this hub can be given a task.'),
}
