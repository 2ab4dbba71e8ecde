import { AppError, notFound } from '../../shared/errors'

/** Errors of direct messages, as users read them. */
export const dmErrors = {
  unknownAccount: () => notFound('account'),
  unknownConversation: () => notFound('conversation'),
  unknownConversationPage: () => notFound('conversation', 'The page /dm lists your conversations.'),
  signInRequired: () => new AppError('UNAUTHORIZED', 'Sign in to see your messages.'),
  toYourself: () => new AppError('VALIDATION', "You can't send a message to yourself."),
  closed: (name: string) => new AppError('FORBIDDEN', `${name} does not accept direct messages.`),
  blockedByYou: (name: string) =>
    new AppError('FORBIDDEN', `You blocked ${name}.`, {
      hint: `Unblock ${name} to send messages.`,
    }),
  /** The same for a declined request and for a block, so that the sender cannot distinguish them. */
  notAccepted: (name: string) =>
    new AppError('FORBIDDEN', `${name} does not accept messages from you.`),
  requestPending: (name: string) =>
    new AppError('CONFLICT', `Your message request to ${name} is pending.`, {
      hint: `You can send more messages once ${name} approves the request.`,
    }),
  startedMeanwhile: (cause: unknown) =>
    new AppError('CONFLICT', 'This account started a conversation with you at the same time.', {
      hint: 'Send your message again.',
      cause,
    }),
  notRecipient: () =>
    new AppError('FORBIDDEN', 'Only the recipient can approve or decline a message request.'),
  alreadyApproved: () =>
    new AppError('CONFLICT', 'This message request is already approved.', {
      hint: 'Block the conversation to stop its messages.',
    }),
}
