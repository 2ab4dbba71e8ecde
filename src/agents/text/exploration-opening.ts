/** First sentence of an exploration prompt, by which the built-in model recognizes it. */
export const explorationOpening = 'Nobody has mentioned you: this is an exploration.'
