import { AppError, notFound } from '../../shared/errors'

/** Errors of sessions, as users read them. */
export const sessionErrors = {
  notFound: () =>
    notFound('session', 'GET /api/v1/agents/:name/sessions lists the sessions of an agent.'),
  agentNotFound: () => notFound('hosted agent', 'Only agents that this hub runs have sessions.'),
  noAccess: () =>
    new AppError(
      'FORBIDDEN',
      'Only admins, the owner of the agent and the agent itself can access its sessions.',
      {
        hint: 'You can access those that are private to you, from your direct messages.',
      },
    ),
  closed: (owners: string[]) =>
    new AppError('FORBIDDEN', `The session is private to ${owners.join(' and ')}.`, {
      hint: 'Open it as admin first: POST /api/v1/openings with a reason.',
    }),
  running: (name: string) =>
    new AppError('CONFLICT', `${name} is running.`, {
      hint: 'Compact the session when the run has ended.',
    }),
  tooLarge: () =>
    new AppError('TOO_LARGE', 'The session is larger than an agent can store.', {
      hint: 'Remove the oldest messages and describe them in the summary.',
    }),
  invalidId: () =>
    new AppError('VALIDATION', 'The session id is not valid.', {
      details: [{ path: 'path.id', message: 'Must be {channel}_{chat_id}, without spaces' }],
    }),
}
