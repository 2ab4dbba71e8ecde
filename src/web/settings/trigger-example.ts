import type { TriggerKey } from '../../hub/contract/triggers'
import { createExample, parseTemplate } from '../../hub/triggers/template'

/** Lines of a shell that sign the body of a delivery, and the headers that curl sends. */
const signing: Record<TriggerKey['verify'], { lines: string[]; headers: string[] }> = {
  standard: {
    lines: [
      'TIME=$(date +%s)',
      'ID=example-$TIME',
      `KEY=$(printf %s "\${SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')`,
      'SIGNATURE=$(printf %s "$ID.$TIME.$BODY" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | openssl base64 -A)',
    ],
    headers: [
      '"webhook-id: $ID"',
      '"webhook-timestamp: $TIME"',
      '"webhook-signature: v1,$SIGNATURE"',
    ],
  },
  github: {
    lines: [
      `SIGNATURE=$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$SECRET" | sed 's/^.* //')`,
    ],
    headers: [
      `'X-GitHub-Event: push'`,
      '"X-GitHub-Delivery: example-$(date +%s)"',
      '"X-Hub-Signature-256: sha256=$SIGNATURE"',
    ],
  },
  bearer: {
    lines: [],
    headers: ['"Authorization: Bearer $SECRET"', '"Idempotency-Key: example-$(date +%s)"'],
  },
}

/**
 * Returns commands that send a delivery to a trigger, with every field that its template has.
 *
 * @param secret null where it is not shown any more
 */
export function formatExample(
  { verify, template }: Pick<TriggerKey, 'verify'> & { template: string },
  url: string,
  secret: string | null,
): string {
  const { lines, headers } = signing[verify]
  const body = JSON.stringify(createExample(parseTemplate(template).parts))
  const send = [
    `curl ${url}`,
    ...["'Content-Type: application/json'", ...headers].map((header) => `-H ${header}`),
    '-d "$BODY"',
  ]
  return [
    `SECRET='${secret ?? 'the secret of the trigger'}'`,
    `BODY='${body}'`,
    ...lines,
    send.join(' \\\n  '),
  ].join('\n')
}
