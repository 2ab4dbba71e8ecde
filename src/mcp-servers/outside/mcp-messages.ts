import { ErrorCode } from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod'

/** A JSON-RPC error; the SDK reads its `code` and `data`. */
export class McpFailure extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: Record<string, unknown>,
  ) {
    super(message)
  }
}

/** Returns a JSON-RPC error for invalid parameters. */
export const wrongParams = (message: string): Error =>
  new McpFailure(ErrorCode.InvalidParams, message)

/**
 * Returns a schema that only checks the method. The handlers validate the rest and report invalid
 * parameters; with a stricter schema the SDK would report an internal error.
 */
export const any = <Method extends string>(method: Method) =>
  z.looseObject({ method: z.literal(method) })

/** Parses a request. Throws a JSON-RPC error for invalid parameters. */
export function parse<Schema extends z.ZodType>(
  schema: Schema,
  request: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(request)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw wrongParams(`${issue?.path.join('.')}: ${issue?.message}`)
}
