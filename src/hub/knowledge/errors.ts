import { AppError, notFound } from '../../shared/errors'

/** Errors of what agents know, as users read them. */
export const knowledgeErrors = {
  agentNotFound: () =>
    notFound('hosted agent', 'Only agents that this hub runs remember something.'),
  notFound: (kind: 'fact' | 'file') =>
    notFound(kind, 'Only the account that the agent keeps it for can share or delete it.'),
  notKnown: (kind: 'fact' | 'task' | 'file') =>
    notFound(kind, 'It may have been deleted already, or be private to somebody else.'),
  notYours: () =>
    new AppError('FORBIDDEN', 'Only admins and the owner of the agent can change this.', {
      hint: 'You can change what is private to you.',
    }),
  peopleOnly: () =>
    new AppError('FORBIDDEN', 'Only people share or delete what an agent keeps for them.', {
      hint: 'Sign in as the person, or use their key.',
    }),
  peopleCorrect: () =>
    new AppError('FORBIDDEN', 'Only people correct and delete what an agent knows.', {
      hint: 'Sign in as an admin or the owner of the agent.',
    }),
  taken: (kind: 'fact' | 'file') =>
    new AppError(
      'CONFLICT',
      kind === 'fact'
        ? 'The agent knows the same text for everybody already.'
        : 'Another file with this path is in the way.',
      {
        hint:
          kind === 'fact' ? 'Delete this one.' : 'Delete one of them, or have the agent rename it.',
      },
    ),
}
