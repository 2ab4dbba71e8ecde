/** The key that the test servers accept. */
export const awsKey = {
  access_key_id: 'AKIDTEST0123456789',
  secret_access_key: 'tEsT/secret+0123456789abcdefghijk',
}

export const awsCredential = JSON.stringify({ ...awsKey, region: 'eu-central-1' })
