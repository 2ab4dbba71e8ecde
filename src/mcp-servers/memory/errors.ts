import { memoryLimits } from '../../shared/config'
import { AppError, notFound } from '../../shared/errors'

/** Errors of an agent's memory, as models read them. */
export const memoryErrors = {
  tooManyTasks: () =>
    new AppError(
      'CONFLICT',
      `You have ${memoryLimits.openTasksMax} open tasks, which is the limit.`,
      { hint: 'Complete one with memory_complete_task, then try again.' },
    ),
  unknownTask: () =>
    notFound('task', 'memory_list_facts lists your open tasks with their numbers.'),
  tooManyFacts: () =>
    new AppError('CONFLICT', `You have ${memoryLimits.factsMax} facts, which is the limit.`, {
      hint: 'Delete one that is out of date with memory_forget_fact, then try again.',
    }),
  unknownFact: () => notFound('fact', 'memory_list_facts lists your facts with their numbers.'),
}
