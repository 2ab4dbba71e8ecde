/** Limits of the gateway through which coding agents use models. */
export const modelGateway = {
  /** Tokens of a picture, whatever its size: more than any provider counts for one. */
  pictureTokensMax: 12_000,
  /** Characters of one event of a stream; what a longer one says is not read. */
  eventCharsMax: 4 * 1024 * 1024,
  /** Bytes of an answer; the connection of a longer one is broken. */
  answerBytesMax: 32 * 1024 * 1024,
  /** Bytes of a provider's error that are read. */
  errorBytesMax: 64 * 1024,
  /** Waits before the result of a request is reported again to an object that did not answer. */
  settleAgainMs: [200, 1_000],
} as const
