/**
 * Replaces `ajv` and `ajv-formats` in the bundle (see `wrangler.toml`): the MCP SDK imports them for its
 * default validator, which is never created, because every server and client here passes its own.
 */
export default class NoValidator {
  constructor() {
    throw new Error('Pass a jsonSchemaValidator: compiling schemas is not allowed in Workers.')
  }
}
