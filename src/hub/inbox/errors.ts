import { notFound } from '../../shared/errors'

/** Errors of the inbox, as users read them. */
export const inboxErrors = {
  nobodyAsked: () =>
    notFound('question', 'It must be your own, and mention an account that exists.'),
}
