/**
 * Replaces what `nodemailer` imports for content from files and URLs, for types of attachments and to look up names (see
 * `wrangler.toml`): the hub sends two texts over a connection that it has opened.
 */
export default function refuse(): never {
  throw new Error('Mail has a text and an HTML part, and no attachments.')
}

export { refuse as detectExtension, refuse as detectMimeType }
